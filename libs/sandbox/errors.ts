/** The request cannot be run as it stands; the message is meant for whoever made it. */
export class SandboxRefusal extends Error {
  override readonly name = 'SandboxRefusal';
}

/** No sandbox could be made; the message says why and, where known, what to do about it. */
export class SandboxFailure extends Error {
  override readonly name = 'SandboxFailure';
}
