import { APICallError } from '@ai-sdk/provider';

/** A connection that failed, for whatever reason: a call without a status, which is worth another attempt. */
export function connectionError(thrown: unknown, url = ''): APICallError {
  // One for each address of a host that refuses all of them.
  const cause = thrown instanceof AggregateError ? thrown.errors[0] : thrown;
  return new APICallError({
    message: 'The connection failed',
    url,
    // The whole prompt: nothing that should be kept with an error.
    requestBodyValues: undefined,
    cause,
  });
}
