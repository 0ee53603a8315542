/** The request cannot be run as it stands; the message is meant for the caller. */
export class SandboxRefusal extends Error {
  override readonly name = 'SandboxRefusal';
}

/** No sandbox could be made; the message says why and, where known, what to do about it. */
export class SandboxFailure extends Error {
  override readonly name = 'SandboxFailure';
}

/** The session has ended; another one must be opened. */
export class SessionOver extends Error {
  override readonly name = 'SessionOver';
}
