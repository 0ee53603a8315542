/** A request that is refused: its answer is this status, with the message as its reason. */
export class HttpRefusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** The `Content-Security-Policy` of what is no page: nothing in it runs, and nothing frames it. */
export const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'";
