import type { FastifyRequest } from 'fastify';
import { escapeHtml } from '#libs/html/index.js';
import { TooLarge, UnsupportedMediaType } from '../errors/index.js';
import { problemHtml } from './page.js';

const MAX_BYTES = 16_384;

/** The fields of a form that a browser sent without JavaScript (application/x-www-form-urlencoded). */
export async function readForm(request: FastifyRequest): Promise<Record<string, string>> {
  return Object.fromEntries(await readFields(request));
}

/** As {@link readForm}, with the fields that come more than once. */
export async function readFields({ headers, body }: FastifyRequest): Promise<URLSearchParams> {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');
  if (!isForm || typeof body !== 'object' || body === null || !(Symbol.asyncIterator in body))
    throw new UnsupportedMediaType('Send the form of this page');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new TooLarge('The form is too large', { connection: 'close' });
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

/** A page that has forms: its own address, and what shows that they are of this page. */
export interface FormPlace {
  readonly address: string;
  readonly csrf: string;
}

/** A form that works without scripts; `content` is HTML already. */
export const formHtml = (action: string, csrf: string, content: string): string =>
  `<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="csrf" value="${escapeHtml(csrf)}">
${content}
</form>`;

/** What a person signs in with. The first empty field has the focus. */
export function signInFields(email: string, problem?: string): string {
  return `<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required value="${escapeHtml(email)}"${email ? '' : ' autofocus'}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required${email ? ' autofocus' : ''}${problem ? ' aria-invalid="true"' : ''}>
<button type="submit">Sign in</button>
<p class="hint"><a href="/auth/forgot">Forgot your password?</a></p>`;
}

/** The form that signs in, with what went wrong when it was last sent. */
export const signInForm = (action: string, csrf: string, email: string, problem?: string): string =>
  `${problemHtml(problem)}
${formHtml(action, csrf, signInFields(email, problem))}`;

/** A password to be; browsers offer to make one up and keep it. */
export const newPasswordField = (name: string, label: string): string =>
  `<label for="${name}">${escapeHtml(label)}</label>
<input id="${name}" name="${name}" type="password" autocomplete="new-password" minlength="8" maxlength="256" required aria-describedby="hint">
<p id="hint" class="hint">8 characters or more.</p>`;

/** Who is signed in, and the way out; the page it is on takes `sign-out`. */
export const signedInAs = ({ address, csrf }: FormPlace, email: string, label = 'Sign out'): string =>
  formHtml(
    `${address}/sign-out`,
    csrf,
    `<p class="aside">You are signed in as ${escapeHtml(email)}. <button type="submit" class="link">${escapeHtml(label)}</button></p>`,
  );

const block = (text: string): string => `<pre class="facts copy"><code>${escapeHtml(text)}</code></pre>`;

/** How people and programs go on from a page of ours: the documentation, a first call, MCP. */
export function connectHtml(baseUrl: string, email = 'you@example.com'): string {
  const login = `curl ${baseUrl}/api/auth/login \\
  -H 'Content-Type: application/json' \\
  -d '{"email": "${email.replaceAll("'", "'\\''")}", "password": "…"}'`;
  const me = `curl ${baseUrl}/api/workspaces \\
  -H 'Authorization: Bearer ACCESS_TOKEN'`;
  return `<h2>With an AI client</h2>
<p>Claude, Cursor, VS Code and others connect through MCP. Their set-up is <a href="/mcp">described here</a>; the address is</p>
${block(`${baseUrl}/mcp`)}
<h2>With the API</h2>
<p>Sign in for an access token, and send it with each call. <a href="/docs">All calls are documented</a>.</p>
${block(login)}
${block(me)}`;
}
