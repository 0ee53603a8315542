import { type Html, html } from '../../../platform/pages/index.js';
import { icon } from './icons.js';
import type { SharePage } from './layout.js';

export const problemHtml = (problem: string | undefined): Html =>
  problem ? html`<p class="problem" role="alert">${problem}</p>` : html``;

/** Asks for the password of a link, and says nothing of what is behind it. */
export function passwordPage(home: string, next: string, problem?: string): SharePage {
  const body = html`<div class="card inside">${icon('lock')}<h1>This link has a password</h1>
<p class="lead">Enter it to see what was shared with you.</p>
${problemHtml(problem)}
<form method="post" action="${home}/unlock">
<input type="hidden" name="next" value="${next}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required autofocus>
<button type="submit">Open</button>
</form></div>`;
  return { title: 'Password', body, narrow: true };
}
