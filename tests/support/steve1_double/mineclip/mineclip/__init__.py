from .mineclip import MineCLIP

__all__ = ["MineCLIP"]
