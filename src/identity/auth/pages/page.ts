import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { escapeHtml } from '../../../platform/http/html.js';

/** A page of one heading, some text and at most one form. */
export interface AuthPage {
  readonly title: string;
  readonly text?: string;
  /** What went wrong with the form that was sent. */
  readonly problem?: string;
  readonly form?: {
    readonly action: string;
    readonly token: string;
    readonly button: string;
    /** Asks for a new password. */
    readonly asksPassword?: boolean;
  };
}

const STYLE = `
*{box-sizing:border-box}
body{margin:0;padding:10vh 16px;background:#f4f4f2;color:#1d1d1b;font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:26rem;margin:0 auto;padding:32px;background:#fff;border:1px solid #e2e2de;border-radius:12px}
h1{margin:0 0 16px;font-size:1.375rem;line-height:1.3}
label{display:block;margin:16px 0 4px;font-weight:600}
input{width:100%;padding:10px 12px;border:1px solid #8a8a84;border-radius:8px;background:#fff;color:inherit;font:inherit}
.hint{margin:4px 0 0;color:#5c5c57;font-size:.875rem}
.problem{padding:10px 12px;border-left:4px solid #b91c1c;background:#fef2f2}
button{margin-top:24px;padding:12px 24px;border:0;border-radius:8px;background:#1d4ed8;color:#fff;font:inherit;font-weight:600;cursor:pointer}
:focus-visible{outline:3px solid #93b4fd;outline-offset:2px}
@media(prefers-color-scheme:dark){body{background:#18181a;color:#ededeb}main{background:#232326;border-color:#3a3a3e}input{background:#18181a}.hint{color:#a9a9a4}.problem{background:#3b1a1a}}
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** Nothing but the page itself: no scripts, no frames around it, no address of it (which holds the token) to anyone. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
};

export function sendPage(
  reply: FastifyReply,
  page: AuthPage,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): FastifyReply {
  return reply
    .status(status)
    .headers({ ...headers, ...HEADERS })
    .send(render(page));
}

function render({ title, text, problem, form }: AuthPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · Atelier</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${problem ? `<p class="problem" role="alert">${escapeHtml(problem)}</p>` : ''}
${text ? `<p>${escapeHtml(text)}</p>` : ''}
${form ? renderForm(form) : ''}
</main>
</body>
</html>
`;
}

function renderForm({ action, token, button, asksPassword }: NonNullable<AuthPage['form']>): string {
  return `<form method="post" action="${action}">
<input type="hidden" name="token" value="${escapeHtml(token)}">
${asksPassword ? PASSWORD_FIELD : ''}
<button type="submit">${escapeHtml(button)}</button>
</form>`;
}

const PASSWORD_FIELD = `<label for="new_password">New password</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" minlength="8" maxlength="256" required aria-describedby="hint">
<p id="hint" class="hint">8 characters or more.</p>`;
