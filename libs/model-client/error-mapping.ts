import { JSONParseError, type LanguageModelV4, TypeValidationError } from '@ai-sdk/provider';
import { readRetryAfter } from './backoff.js';
import { type Failure, readFailure } from './failure.js';
import { ModelError, type ModelErrorKind } from './model-error.js';

/** `provider/name`, as people know the model. */
export function modelLabel(model: LanguageModelV4): string {
  return `${providerLabel(model)}/${model.modelId}`;
}

function providerLabel(model: LanguageModelV4): string {
  const [first = model.provider] = model.provider.split(/\.(?:responses|chat|messages|generative-ai)$/);
  return first;
}

/** Anything a provider throws, or puts into an error part, as a {@link ModelError}. */
export function toModelError(thrown: unknown, model: LanguageModelV4): ModelError {
  if (thrown instanceof ModelError) return thrown;
  // An SDK wraps what ended the body.
  if (thrown instanceof Error && thrown.cause instanceof ModelError) return thrown.cause;
  if (TypeValidationError.isInstance(thrown) || JSONParseError.isInstance(thrown))
    return malformedAnswer(thrown, model);
  const failure = readFailure(thrown);
  const verdict = RULES.find(rule => rule.applies(failure)) ?? UNKNOWN;
  const status = failure.status === undefined ? '' : ` (${failure.status})`;
  const said = failure.said ? `: ${shorten(redact(failure.said))}` : '.';
  return new ModelError(
    verdict.kind,
    verdict.message({ provider: providerLabel(model), model, status, said }),
    {
      retryable: retryable(verdict, failure),
      status: failure.status,
      retryAfterMs: readRetryAfter(failure.headers) ?? failure.retryAfterMs,
      cause: failure.cause,
    },
  );
}

/** What an SDK could not read names all of it in its message, and the rules of a schema. */
function malformedAnswer({ cause }: Error, model: LanguageModelV4): ModelError {
  const { issues = [] } = (cause ?? {}) as { issues?: readonly { path?: readonly PropertyKey[] }[] };
  // Of several forms that an answer may have, each says where it differs.
  const [place] = issues.map(({ path = [] }) => path.map(String).join('.')).filter(Boolean);
  const where = place ? `: ${shorten(place)} is not what the protocol says.` : '.';
  return new ModelError('unknown', `The answer of ${modelLabel(model)} could not be read${where}`);
}

interface Words {
  provider: string;
  model: LanguageModelV4;
  /** ` (429)`, or nothing. */
  status: string;
  /** The provider's own words behind a colon, or a full stop. */
  said: string;
}

interface Rule {
  kind: ModelErrorKind;
  retryable?: boolean;
  applies: (failure: Failure) => boolean;
  message: (words: Words) => string;
}

const has = (pattern: RegExp) => (f: Failure) => pattern.test(`${f.codes} ${f.said}`);
const status =
  (low: number, high = low) =>
  (f: Failure) =>
    f.status !== undefined && f.status >= low && f.status <= high;
const any =
  (...tests: ((f: Failure) => boolean)[]) =>
  (f: Failure) =>
    tests.some(test => test(f));

const CONTEXT =
  /context_length|maximum context length|context (window|size|limit)|prompt is too long|input is too long|input token count|too many (input )?tokens|request_too_large|exceeds? the (maximum|max) (number of )?(input )?tokens/i;
const QUOTA =
  /insufficient_quota|billing_(hard_limit|not_active)|credit balance|insufficient (balance|credits|funds)/i;
const REFUSED = /content_filter|content_policy|content_management_policy|responsibleaipolicy|moderation_/i;
const BAD_KEY =
  /invalid_api_key|api_key_invalid|api key not valid|incorrect api key|invalid api key|authentication_error/i;
const NO_MODEL = /model_not_found|not_found_error/i;

/** Read from the top, the first that applies decides: what a provider says in words goes before its status. */
const RULES: Rule[] = [
  {
    kind: 'network',
    applies: f => f.connection === 'refused',
    retryable: false,
    message: w => `No trustworthy connection to ${w.provider} could be made${w.said}`,
  },
  {
    kind: 'network',
    applies: f => f.connection !== undefined,
    message: w => `The connection to ${w.provider} failed${w.said}`,
  },
  {
    kind: 'context_length',
    applies: f => !status(429)(f) && any(has(CONTEXT), status(413))(f),
    message: w => `The conversation is too long for ${modelLabel(w.model)}${w.said}`,
  },
  {
    kind: 'rate_limited',
    retryable: false,
    applies: any(has(QUOTA), status(402)),
    message: w => `The account at ${w.provider} has no credit left${w.status}${w.said}`,
  },
  {
    kind: 'refused',
    applies: any(has(REFUSED), status(451)),
    message: w => `The content policy of ${w.provider} turned this request down${w.said}`,
  },
  {
    kind: 'auth',
    applies: any(status(401), status(403), has(BAD_KEY)),
    // The provider's own words are left out: some quote the key.
    message: w => `${w.provider} refused the API key${w.status}: check the key that is configured for it.`,
  },
  {
    kind: 'not_found',
    applies: any(status(404), has(NO_MODEL)),
    message: w =>
      `${w.provider} knows no model "${w.model.modelId}", or the key may not use it${w.status}: choose another model.`,
  },
  {
    kind: 'rate_limited',
    applies: status(429),
    message: w => `${w.provider} is limiting requests${w.status}${w.said}`,
  },
  {
    kind: 'timeout',
    applies: any(status(408), status(504)),
    message: w => `${w.provider} timed out${w.status}${w.said}`,
  },
  {
    kind: 'overloaded',
    applies: any(status(409), status(425), status(503), status(529)),
    message: w => `${w.provider} is overloaded${w.status}${w.said}`,
  },
  {
    kind: 'overloaded',
    applies: status(500, 599),
    message: w => `${w.provider} failed on its side${w.status}${w.said}`,
  },
  {
    kind: 'bad_request',
    applies: status(300, 399),
    message: w => `${w.provider} answered with a redirect${w.status}: check the base URL configured for it.`,
  },
  {
    kind: 'bad_request',
    applies: status(400, 499),
    message: w => `${w.provider} did not accept the request${w.status}${w.said}`,
  },
];

const UNKNOWN: Rule = {
  kind: 'unknown',
  applies: () => true,
  message: w => `The call to ${modelLabel(w.model)} failed${w.said}`,
};

/** `x-should-retry`, which OpenAI and Anthropic send, knows better than the status. */
function retryable(verdict: Rule, failure: Failure): boolean | undefined {
  const advice = failure.headers?.['x-should-retry'];
  return advice === 'true' || advice === 'false' ? advice === 'true' : verdict.retryable;
}

const KEY_LIKE =
  /\b(?:sk|pk|rk|gsk|xai|key)[-_][\w.*-]{6,}|\bAIza[\w-]{10,}|\bBearer\s+\S+|(?<=\bapi[-_ ]?key["']?\s*[:=]\s*["']?)[^\s"',]{6,}/gi;

function redact(text: string): string {
  return text.replaceAll(KEY_LIKE, '[key]');
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
