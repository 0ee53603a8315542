import { html } from '../../../platform/pages/index.js';
import { icon, problemHtml, type SharePage, sizeInWords } from '../../exposure/index.js';

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
