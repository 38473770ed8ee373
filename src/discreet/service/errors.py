"""What a collector refuses, each error with its HTTP status."""

from discreet.errors import DiscreetError


class ServiceError(DiscreetError):
    """An error with an HTTP status of its own; any other `DiscreetError` is answered with 422."""

    status = 422


class Unauthorized(ServiceError):
    """A request without a valid bearer token."""

    status = 401


class Forbidden(ServiceError):
    """A request of an administrator whose role does not allow it."""

    status = 403


class Missing(ServiceError):
    """There is no such campaign, round or token."""

    status = 404


class Conflict(ServiceError):
    """The campaign's state does not allow the request."""

    status = 409


class StoreBusy(ServiceError):
    """The store cannot write now (locked, full, unreachable). Nothing was stored, and trying again is safe."""

    status = 429


class Refused(ServiceError):
    """An upload that is refused as a whole.

    Parameters
    ----------
    status : int
        The HTTP status.
    sentence : str
        Why.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def status_of(error: DiscreetError) -> int:
    """Return the HTTP status of an error."""
    return error.status if isinstance(error, ServiceError) else 422
