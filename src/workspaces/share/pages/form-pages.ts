import { type Html, html } from '../../../platform/pages/index.js';
import { icon } from './icons.js';
import type { SharePage } from './layout.js';
import { sizeInWords } from './words.js';

const problemHtml = (problem: string | undefined): Html =>
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

export interface Drop {
  readonly home: string;
  readonly name: string;
  readonly maxFiles: number;
  readonly maxBytes: number;
  /** What was handed in just now. */
  readonly received?: readonly string[];
  readonly problem?: string;
  readonly status?: number;
}

/** Takes files in, and shows nothing of what is there. */
export function dropPage({
  home,
  name,
  maxFiles,
  maxBytes,
  received = [],
  problem,
  status,
}: Drop): SharePage {
  const names = received.map(one => html`<li>${one}</li>`);
  const body = html`<div class="card inside">${icon('inbox')}<h1>Hand in files</h1>
<p class="lead">They go to “${name}”. Only the people there see what was handed in.</p>
${problemHtml(problem)}
${received.length > 0 && html`<div class="done" role="status">Received, thank you:<ul>${names}</ul></div>`}
<form method="post" action="${home}/upload" enctype="multipart/form-data">
<label for="files">Files</label>
<input id="files" name="files" type="file" multiple required aria-describedby="limits">
<button type="submit">Hand in</button>
</form>
<p class="note" id="limits">Up to ${maxFiles} files at once, ${sizeInWords(maxBytes)} each.</p></div>`;
  return { title: `Hand in files: ${name}`, body, narrow: true, status };
}
