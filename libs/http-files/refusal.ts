/** A request that cannot be served as it is: the status and one sentence to answer with. */
export class FileRefusal extends Error {
  constructor(
    readonly status: 400 | 412 | 413 | 415 | 416,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}
