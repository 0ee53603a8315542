import type { IncomingHttpHeaders } from 'node:http';
import { parse } from 'node:querystring';
import { HttpRefusal, jsonOf } from '#libs/fastify-hardening/index.js';

const MAX_HEADERS = 64;
const MAX_HEADER = 2048;
const MAX_FIELDS = 1000;
const FORM = /^application\/x-www-form-urlencoded\b/i;
/** They prove who sent a request, or say how it came here. */
const LEFT_OUT =
  /^(authorization|proxy-.*|cookie|connection|host|content-length|transfer-encoding|x-forwarded-.*|forwarded|x-real-ip|x-gitlab-token|.*(signature|secret|token|api-key).*)$/;

/** What a webhook brings, as automations get it. */
export interface WebhookInput {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** What came, without what proves who sent it. Throws HttpRefusal where it says that it is JSON and is not. */
export function inputOf(
  headers: IncomingHttpHeaders,
  query: URLSearchParams,
  body: Buffer,
  signatureHeader: string | undefined,
): WebhookInput {
  const kept = Object.entries(headers)
    .filter(([name]) => !LEFT_OUT.test(name) && name !== signatureHeader)
    .slice(0, MAX_HEADERS)
    .map(([name, value]) => [name, [value ?? ''].flat().join(', ').slice(0, MAX_HEADER)]);
  return {
    headers: Object.fromEntries(kept),
    query: Object.fromEntries([...query].slice(0, MAX_HEADERS)),
    body: bodyOf(headers['content-type'] ?? '', body),
  };
}

function bodyOf(type: string, body: Buffer): unknown {
  if (body.length === 0) return null;
  const text = body.toString();
  if (FORM.test(type)) return formOf(text);
  const isJson = /[/+]json\b/i.test(type);
  if (!isJson && !/^\s*[[{]/.test(text.slice(0, 100))) return text.replaceAll('\0', '');
  try {
    return jsonOf(body);
  } catch (error) {
    if (!isJson && error instanceof HttpRefusal && error.status === 400) return text.replaceAll('\0', '');
    throw error;
  }
}

/** GitHub's default, and Slack's buttons: a form whose one field is JSON stands for that. */
function formOf(text: string): unknown {
  const { ...form } = parse(text, undefined, undefined, { maxKeys: MAX_FIELDS });
  const { payload, ...others } = form;
  if (typeof payload !== 'string' || Object.keys(others).length > 0 || !/^\s*[[{]/.test(payload)) return form;
  try {
    return jsonOf(Buffer.from(payload));
  } catch (error) {
    if (error instanceof HttpRefusal && error.status === 400) return form;
    throw error;
  }
}
