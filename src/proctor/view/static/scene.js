// A trial in space, from its record: the model's shapes, tracked bodies, or a wire in its vessel.

import * as THREE from "./vendor/three.js";
import { h, number, replace } from "./dom.js";
import { colour } from "./plots.js";

const GHOST = 0x8a98a6;
const [SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH] = [2, 3, 4, 5, 6, 7];

/** Blue, yellow, red for 0 to 1. */
function heat(share, out) {
  const t = Math.min(1, Math.max(0, share));
  return t < 0.5 ? out.setRGB(0.23, 0.55, 0.78).lerp(new THREE.Color(0.9, 0.79, 0.29), 2 * t) : out.setRGB(0.9, 0.79, 0.29).lerp(new THREE.Color(0.82, 0.27, 0.17), 2 * t - 1);
}

export class Scene {
  constructor({ head, numbers }, room) {
    this.head = head;
    this.step = 0;
    this.block = (name) => { const own = head.blocks[name]; return own ? numbers.subarray(own.start, own.start + own.shape.reduce((a, b) => a * b, 1)) : null; };
    this.shape = (name) => head.blocks[name]?.shape;
    this.canvas = h("canvas", { role: "img", "aria-label": "the trial in space; drag to turn, wheel to come closer", tabindex: "0" });
    this.note = h("p", { class: "scale" });
    this.node = h("div", {}, this.canvas, this.note, h("p", { class: "hint" }, head.said || "Drag to turn, right-drag to move, wheel to come closer."));
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(2, devicePixelRatio));
    this.world = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(40, 1.6, 0.01, 5000);
    this.camera.up.set(0, 0, 1);
    this.controls = new THREE.OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener("change", () => this.draw());
    const sun = new THREE.DirectionalLight(0xffffff, 2.2);
    sun.position.set(2, -3, 5);
    this.world.add(new THREE.HemisphereLight(0xffffff, 0x889099, 1.5), sun);
    this.moving = { model: () => model(this), bodies: () => bodies(this), wire: () => wire(this) }[head.kind]();
    this.sized = new ResizeObserver(() => this.fit());
    this.sized.observe(room);
    this.room = room;
    this.fit();
    this.set(0);
  }

  fit() {
    const width = Math.max(200, this.room.clientWidth || 600), height = Math.round(Math.min(0.62 * width, 0.6 * innerHeight));
    this.renderer.setSize(width, Math.max(220, height), false);
    this.canvas.style.height = `${Math.max(220, height)}px`;
    this.camera.aspect = width / Math.max(220, height);
    this.camera.updateProjectionMatrix();
    this.draw();
  }

  /** Look at a place from a distance. */
  aim(centre, distance, direction = [0.75, -1, 0.45]) {
    this.controls.target.set(...centre);
    const from = new THREE.Vector3(...direction).normalize().multiplyScalar(distance);
    this.camera.position.set(centre[0] + from.x, centre[1] + from.y, centre[2] + from.z);
    this.camera.near = distance / 200;
    this.camera.far = distance * 50;
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  /** Look at a box from a direction, from where all of it is seen. */
  frame(box, direction) {
    const centre = box.getCenter(new THREE.Vector3()), from = new THREE.Vector3(...direction).normalize();
    const right = this.camera.up.clone().cross(from).normalize(), above = from.clone().cross(right);
    const tall = Math.tan((Math.PI / 360) * this.camera.fov), across = tall * this.camera.aspect;
    let distance = 1e-3;
    for (const x of [box.min.x, box.max.x]) for (const y of [box.min.y, box.max.y]) for (const z of [box.min.z, box.max.z]) {
      const corner = new THREE.Vector3(x, y, z).sub(centre);
      distance = Math.max(distance, corner.dot(from) + Math.max(Math.abs(corner.dot(above)) / tall, Math.abs(corner.dot(right)) / across));
    }
    this.aim(centre.toArray(), 1.04 * distance, direction);
  }

  set(step) {
    this.step = Math.min(this.head.n - 1, Math.max(0, step));
    this.moving(this.step);
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.renderer.render(this.world, this.camera); this.canvas.dataset.drawn = this.step + 1; });
  }

  close() {
    this.sized.disconnect();
    this.controls.dispose();
    this.renderer.dispose();
  }

  legend(most, unit, words) {
    replace(this.note, `${words}: 0 to ${number(most, 2)} ${unit}`, h("i", {}));
  }
}

function ground(world, size, z = 0) {
  const grid = new THREE.GridHelper(size, 20, GHOST, GHOST);
  grid.material.transparent = true;
  grid.material.opacity = 0.25;
  grid.rotation.x = Math.PI / 2;
  grid.position.z = z;
  world.add(grid);
  return grid;
}

const percentile = (values, share) => { const sorted = Float32Array.from(values).filter(Number.isFinite).sort(); return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : 0; };

// The shapes of a model ------------------------------------------------------------------------------------------

function geometry(scene, i) {
  const type = scene.block("geom_type")[i], size = scene.block("geom_size").subarray(3 * i, 3 * i + 3);
  if (type === SPHERE) return new THREE.SphereGeometry(size[0], 20, 14);
  if (type === CAPSULE) return new THREE.CapsuleGeometry(size[0], 2 * size[1], 6, 14).rotateX(Math.PI / 2);
  if (type === CYLINDER) return new THREE.CylinderGeometry(size[0], size[0], 2 * size[1], 20).rotateX(Math.PI / 2);
  if (type === BOX) return new THREE.BoxGeometry(2 * size[0], 2 * size[1], 2 * size[2]);
  if (type === ELLIPSOID) return new THREE.SphereGeometry(1, 20, 14).scale(size[0], size[1], size[2]);
  const which = scene.block("geom_mesh")[i];
  return type === MESH && which >= 0 ? mesh(scene, which) : null;
}

function mesh(scene, which) {
  scene.meshes ||= new Map();
  if (!scene.meshes.has(which)) {
    const [v0, v1] = scene.block("mesh_vertex_start").subarray(which, which + 2), [f0, f1] = scene.block("mesh_face_start").subarray(which, which + 2);
    const made = new THREE.BufferGeometry();
    made.setAttribute("position", new THREE.BufferAttribute(scene.block("mesh_vertices").slice(3 * v0, 3 * v1), 3));
    made.setIndex(new THREE.BufferAttribute(Uint32Array.from(scene.block("mesh_faces").subarray(3 * f0, 3 * f1)), 1));
    const flat = made.toNonIndexed();
    flat.computeVertexNormals();
    scene.meshes.set(which, flat);
  }
  return scene.meshes.get(which);
}

/** A group for each body with its shapes; `paint` gives the material of a shape. */
function figure(scene, paint) {
  const groups = Array.from({ length: scene.shape("pos")[1] }, () => new THREE.Group());
  scene.block("geom_body").forEach((body, i) => {
    const shape = geometry(scene, i);
    if (!shape) return;
    const made = new THREE.Mesh(shape, paint(body, i));
    const at = scene.block("geom_pos"), turn = scene.block("geom_quat");
    made.position.set(at[3 * i], at[3 * i + 1], at[3 * i + 2]);
    made.quaternion.set(turn[4 * i + 1], turn[4 * i + 2], turn[4 * i + 3], turn[4 * i]);
    groups[body].add(made);
  });
  scene.world.add(...groups);
  return groups;
}

function place(groups, pos, quat, step) {
  groups.forEach((group, b) => {
    const p = 3 * (step * groups.length + b), q = 4 * (step * groups.length + b);
    group.position.set(pos[p], pos[p + 1], pos[p + 2]);
    group.quaternion.set(quat[q + 1], quat[q + 2], quat[q + 3], quat[q]);
  });
}

function model(scene) {
  const pos = scene.block("pos"), quat = scene.block("quat"), bodiesN = scene.shape("pos")[1];
  const rgba = scene.block("geom_rgba"), refPos = scene.block("reference_pos"), refQuat = scene.block("reference_quat");
  const errors = refPos ? apart(pos, refPos) : null;
  const most = errors ? percentile(errors, 0.99) || 1 : 1;
  const tones = Array.from({ length: bodiesN }, () => new THREE.MeshStandardMaterial({ roughness: 0.75 }));
  const groups = figure(scene, (body, i) => (errors ? tones[body] : new THREE.MeshStandardMaterial({ roughness: 0.75, color: new THREE.Color(rgba[4 * i], rgba[4 * i + 1], rgba[4 * i + 2]), transparent: rgba[4 * i + 3] < 1, opacity: rgba[4 * i + 3] })));
  const ghosts = refPos && refQuat ? figure(scene, () => new THREE.MeshStandardMaterial({ color: GHOST, transparent: true, opacity: 0.28, depthWrite: false })) : null;
  if (errors) scene.legend(most, "m", "distance from the reference (grey)");
  const centre = middle(pos, bodiesN, 0);
  const reach = extent(scene);
  const grid = ground(scene.world, Math.max(4, 4 * reach));
  scene.aim(centre, 3.2 * reach);
  let before = centre;
  return (step) => {
    place(groups, pos, quat, step);
    if (ghosts) place(ghosts, refPos, refQuat, step);
    if (errors) tones.forEach((tone, b) => heat(errors[step * bodiesN + b] / most, tone.color));
    before = follow(scene, grid, middle(pos, bodiesN, step), before);
  };
}

// How far the shapes reach from the middle of the bodies at the first step.
function extent(scene) {
  const pos = scene.block("pos"), count = scene.shape("pos")[1], centre = middle(pos, count, 0);
  let reach = 0;
  for (let b = 0; b < count; b += 1) reach = Math.max(reach, Math.hypot(pos[3 * b] - centre[0], pos[3 * b + 1] - centre[1], pos[3 * b + 2] - centre[2]) * (isStill(pos, count, b) ? 0 : 1));
  return Math.min(20, Math.max(0.35, reach));
}

const isStill = (pos, count, b) => { const last = pos.length / 3 - count; return [0, 1, 2].every((i) => pos[3 * b + i] === pos[3 * (last + b) + i]); };

function middle(pos, count, step) {
  const sum = [0, 0, 0];
  let moved = 0;
  for (let b = 0; b < count; b += 1) {
    if (count > 1 && isStill(pos, count, b)) continue;
    moved += 1;
    for (let i = 0; i < 3; i += 1) sum[i] += pos[3 * (step * count + b) + i];
  }
  return moved ? sum.map((value) => value / moved) : [pos[3 * step * count], pos[3 * step * count + 1], pos[3 * step * count + 2]];
}

/** The camera goes along with what moves. */
function follow(scene, grid, now, before) {
  const by = new THREE.Vector3(now[0] - before[0], now[1] - before[1], 0.6 * (now[2] - before[2]));
  if (!Number.isFinite(by.length())) return before;
  scene.camera.position.add(by);
  scene.controls.target.add(by);
  scene.controls.update();
  grid.position.x = Math.round(now[0]);
  grid.position.y = Math.round(now[1]);
  return now;
}

function apart(pos, reference) {
  const found = new Float32Array(pos.length / 3);
  for (let i = 0; i < found.length; i += 1) found[i] = Math.hypot(pos[3 * i] - reference[3 * i], pos[3 * i + 1] - reference[3 * i + 1], pos[3 * i + 2] - reference[3 * i + 2]);
  return found;
}

// Positions of bodies alone --------------------------------------------------------------------------------------

function bodies(scene) {
  const pos = scene.block("pos"), reference = scene.block("reference_pos"), count = scene.shape("pos")[1];
  const errors = reference ? apart(pos, reference) : null;
  const most = errors ? percentile(errors, 0.99) || 1 : 1;
  const round = new THREE.SphereGeometry(0.035, 16, 12);
  const stick = new THREE.CylinderGeometry(1, 1, 1, 10).rotateX(Math.PI / 2);
  const make = (paint) => {
    const balls = Array.from({ length: count }, (_, b) => new THREE.Mesh(round, paint(b)));
    const sticks = scene.head.links.map(([, b]) => new THREE.Mesh(stick, paint(b)));
    scene.world.add(...balls, ...sticks);
    return { balls, sticks };
  };
  const tones = Array.from({ length: count }, () => new THREE.MeshStandardMaterial({ roughness: 0.7, color: colour("--accent") }));
  const figureOf = make((b) => tones[b]);
  const ghost = new THREE.MeshStandardMaterial({ color: GHOST, transparent: true, opacity: 0.35, depthWrite: false });
  const ghosts = reference ? make(() => ghost) : null;
  if (errors) scene.legend(most, "m", "distance from the reference (grey)");
  const grid = ground(scene.world, 8);
  const centre = middle(pos, count, 0);
  scene.aim(centre, 3);
  let before = centre;
  const put = (own, from, step) => {
    const at = (b) => new THREE.Vector3(from[3 * (step * count + b)], from[3 * (step * count + b) + 1], from[3 * (step * count + b) + 2]);
    own.balls.forEach((ball, b) => ball.position.copy(at(b)));
    scene.head.links.forEach(([a, b], i) => {
      const [p, q] = [at(a), at(b)];
      own.sticks[i].position.copy(p).add(q).multiplyScalar(0.5);
      own.sticks[i].scale.set(0.022, 0.022, Math.max(1e-4, p.distanceTo(q)));
      own.sticks[i].lookAt(q);
    });
  };
  return (step) => {
    put(figureOf, pos, step);
    if (ghosts) put(ghosts, reference, step);
    if (errors) tones.forEach((tone, b) => heat(errors[step * count + b] / most, tone.color));
    before = follow(scene, grid, middle(pos, count, step), before);
  };
}

// A wire in its vessel -------------------------------------------------------------------------------------------

function wire(scene) {
  const tip = scene.block("tip"), path = scene.block("wire"), force = scene.block("force"), forceAt = scene.block("force_at");
  const box = new THREE.Box3();
  const vessel = scene.block("vessel");
  const points = vessel || tip;
  for (let i = 0; i < points.length / 3; i += 1) if (Number.isFinite(points[3 * i])) box.expandByPoint(new THREE.Vector3(points[3 * i], points[3 * i + 1], points[3 * i + 2]));
  if (vessel) tubes(scene, vessel, scene.block("radius"), scene.block("branch"));
  const target = scene.block("target");
  if (target) {
    const ball = new THREE.Mesh(new THREE.SphereGeometry(scene.head.within || 3, 24, 16), new THREE.MeshStandardMaterial({ color: 0x3f9a52, transparent: true, opacity: 0.55, depthWrite: false }));
    ball.position.set(...target);
    scene.world.add(ball);
  }
  const along = scene.shape("wire")?.[1] || 0;
  const line = new THREE.Group();
  const metal = new THREE.MeshStandardMaterial({ color: colour("--ink"), roughness: 0.4, metalness: 0.3 });
  const trail = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0xc44e00 }));
  const head = new THREE.Mesh(new THREE.SphereGeometry(1.6, 16, 12), new THREE.MeshStandardMaterial({ color: 0xc44e00 }));
  scene.world.add(line, trail, head);
  const most = force ? percentile(force, 0.99) || 1 : 1;
  const arrow = force ? new THREE.Mesh(new THREE.SphereGeometry(1, 20, 14), new THREE.MeshStandardMaterial({ transparent: true, opacity: 0.8 })) : null;
  if (arrow) { scene.world.add(arrow); scene.legend(most, scene.head.force_unit, "wall force"); }
  scene.frame(box.expandByScalar(vessel ? Math.max(...scene.block("radius").filter(Number.isFinite)) : 2), [0.1, -1, 0.12]);
  const steel = new THREE.CylinderGeometry(0.7, 0.7, 1, 8).rotateX(Math.PI / 2);
  const links = Array.from({ length: Math.max(0, along - 1) }, () => new THREE.Mesh(steel, metal));
  if (links.length) line.add(...links);
  return (step) => {
    head.position.set(tip[3 * step], tip[3 * step + 1], tip[3 * step + 2]);
    trail.geometry.setAttribute("position", new THREE.BufferAttribute(tip.subarray(0, 3 * (step + 1)), 3));
    links.forEach((link, i) => {
      const p = new THREE.Vector3().fromArray(path, 3 * (step * along + i)), q = new THREE.Vector3().fromArray(path, 3 * (step * along + i + 1));
      const length = p.distanceTo(q);
      link.visible = Number.isFinite(length) && length > 1e-6;
      if (!link.visible) return;
      link.position.copy(p).add(q).multiplyScalar(0.5);
      link.scale.set(1, 1, length);
      link.lookAt(q);
    });
    if (arrow) {
      const share = force[step] / most;
      arrow.visible = Number.isFinite(share) && share > 0.01 && Number.isFinite(forceAt[3 * step]);
      if (arrow.visible) { arrow.position.set(forceAt[3 * step], forceAt[3 * step + 1], forceAt[3 * step + 2]); arrow.scale.setScalar(1.5 + 3.5 * Math.min(1.5, share)); heat(share, arrow.material.color); }
    }
  };
}

function tubes(scene, points, radius, branch) {
  const wall = new THREE.MeshStandardMaterial({ color: 0xb0564a, transparent: true, opacity: 0.22, side: THREE.DoubleSide, depthWrite: false, roughness: 0.9 });
  let start = 0;
  for (let i = 1; i <= branch.length; i += 1) {
    if (i < branch.length && branch[i] === branch[start] && gap(points, i) < 8 * radius[i] + 8 * gap(points, start + 1)) continue;
    if (i - start > 1) scene.world.add(new THREE.Mesh(tube(points, radius, start, i), wall));
    start = i;
  }
}

const gap = (points, i) => (3 * i + 2 < points.length && i ? Math.hypot(points[3 * i] - points[3 * i - 3], points[3 * i + 1] - points[3 * i - 2], points[3 * i + 2] - points[3 * i - 1]) : 0);

// A tube whose radius varies: rings around the middle line, turned as little as possible from one to the next.
function tube(points, radius, start, end) {
  const around = 18, rings = end - start, positions = [], index = [];
  const at = (i) => new THREE.Vector3().fromArray(points, 3 * (start + i));
  let side = new THREE.Vector3(0, 0, 1);
  for (let i = 0; i < rings; i += 1) {
    const ahead = at(Math.min(rings - 1, i + 1)).sub(at(Math.max(0, i - 1))).normalize();
    side.sub(ahead.clone().multiplyScalar(side.dot(ahead)));
    if (side.lengthSq() < 1e-8) side = new THREE.Vector3(1, 0, 0).cross(ahead);
    side.normalize();
    const up = ahead.clone().cross(side), centre = at(i), r = radius[start + i];
    for (let j = 0; j < around; j += 1) {
      const [c, s] = [Math.cos((2 * Math.PI * j) / around), Math.sin((2 * Math.PI * j) / around)];
      positions.push(centre.x + r * (c * side.x + s * up.x), centre.y + r * (c * side.y + s * up.y), centre.z + r * (c * side.z + s * up.z));
      if (i) { const a = (i - 1) * around + j, b = (i - 1) * around + ((j + 1) % around); index.push(a, b, a + around, b, b + around, a + around); }
    }
  }
  const made = new THREE.BufferGeometry();
  made.setAttribute("position", new THREE.BufferAttribute(Float32Array.from(positions), 3));
  made.setIndex(index);
  made.computeVertexNormals();
  return made;
}
