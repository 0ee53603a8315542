import type { AnthropicError } from './anthropic-events.js';

/** The statuses of the types of errors, since an error in mid-stream has none of its own. */
const STATUS: Record<string, number> = {
  api_error: 500,
  overloaded_error: 529,
  rate_limit_error: 429,
  request_too_large: 413,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  billing_error: 400,
  invalid_request_error: 400,
};

/** An error inside an answer that had begun well. */
export function streamError(error: AnthropicError = {}): AnthropicError {
  return { ...error, statusCode: error.statusCode ?? STATUS[error.type ?? ''] };
}
