import { Html, html } from '#libs/html/index.js';
import { icon, type SharePage } from '../../exposure/index.js';
import type { FormDefinition } from '../file/form-definition.js';
import { PROOF, TICKET } from '../receiving/handed-in.js';
import { controlId, EMPTY, type Filled, fieldHtml } from './field-html.js';
import { conditionsStyle, FORM_STYLE } from './form-style.js';

/** A form to fill in, as it is shown. */
export interface ShownForm {
  readonly definition: FormDefinition;
  /** `/f/{token}` */
  readonly home: string;
  /** Makes what is sent one response, however often it is sent. */
  readonly ticket: string;
  /** The name of the field that people do not see. */
  readonly decoy: string;
  /** Whether browsers have to work before they send. */
  readonly proof: boolean;
  readonly isPreview?: boolean;
  readonly filled?: Filled;
  /** What is wrong with the whole. */
  readonly problem?: string;
  readonly status?: number;
}

/** Fields that nobody has filled in, made once a definition. */
const blanks = new WeakMap<FormDefinition, Html>();

function blank(definition: FormDefinition): Html {
  const known = blanks.get(definition);
  if (known) return known;
  const made = html`${definition.fields.map(field => fieldHtml(field, EMPTY))}`;
  blanks.set(definition, made);
  return made;
}

export function formPage(form: ShownForm): SharePage {
  const { definition, home, ticket, decoy, proof, filled, problem, status } = form;
  const { title, description, fields } = definition;
  const hasFiles = fields.some(({ type }) => type === 'file');
  // A browser would wait for fields that it does not show.
  const hasConditions = fields.some(({ showIf }) => showIf !== undefined);
  const content = filled ? html`${fields.map(field => fieldHtml(field, filled))}` : blank(definition);
  const body = html`${form.isPreview && PREVIEW}<div class="card sheetlike"><h1>${title}</h1>
${description && html`<div class="intro prose">${new Html(description)}</div>`}${summary(form)}
<form method="post" action="${home}"${hasConditions && html` novalidate`}${hasFiles && html` enctype="multipart/form-data"`}${problem !== undefined && html` aria-describedby="problem"`}>
<input type="hidden" name="${TICKET}" value="${ticket}">
<div class="decoy" aria-hidden="true"><label for="${decoy}">Leave this empty</label><input id="${decoy}" name="${decoy}" type="text" tabindex="-1" autocomplete="off"></div>
<div class="fields">
${content}</div>
${proof && proofHtml(home)}<div class="send"><button type="submit">Send</button></div>
</form></div>`;
  const isWrong = problem !== undefined || (filled?.mistakes.size ?? 0) > 0;
  return {
    ...look(definition),
    title: isWrong ? `Mistake: ${title}` : title,
    body,
    status,
    runsScripts: proof,
  };
}

const PREVIEW = html`<p class="notice"><strong>Preview.</strong> What you send is checked and not stored.</p>\n`;

/** What all pages of a form have in common. */
export function look(
  definition: FormDefinition,
): Pick<SharePage, 'style' | 'frameAncestors' | 'formTargets'> {
  const { embed, confirmation } = definition;
  const { redirect } = confirmation;
  return {
    style: FORM_STYLE + conditionsStyle(definition),
    frameAncestors: embed,
    formTargets: redirect === null ? [] : [new URL(redirect).origin],
  };
}

function summary({ definition, filled = EMPTY, problem }: ShownForm): Html {
  const wrong = definition.fields.filter(({ id }) => filled.mistakes.has(id));
  if (wrong.length === 0 && problem === undefined) return html``;
  const items = wrong.map(
    ({ id, label }) => html`<li><a href="#${controlId(id)}">${label}: ${filled.mistakes.get(id)}</a></li>`,
  );
  const hasFiles = wrong.length > 0 && definition.fields.some(({ type }) => type === 'file');
  return html`<div class="summary" role="alert" tabindex="-1"><h2>${wrong.length > 0 ? 'Something is to be mended' : 'This was not sent'}</h2>
${problem !== undefined && html`<p id="problem">${problem}</p>`}${items.length > 0 && html`<ul>${items}</ul>`}${
  hasFiles && html`<p>Choose your files again: browsers do not keep them.</p>`
}</div>`;
}

/** The widget of ALTCHA, which does the work when the form has the focus. */
const proofHtml = (
  home: string,
): Html => html`<div class="proof"><altcha-widget name="${PROOF}" auto="onfocus" challenge="${home}/challenge?of=widget" configuration='{"hideFooter":true,"hideLogo":true,"humanInteractionSignature":false}'></altcha-widget>
<noscript><p class="mistake">Many responses come in just now. To send yours, turn JavaScript on and load the page again, or come back later.</p></noscript></div>
<link rel="stylesheet" href="/f/_/altcha.css"><script type="module" src="/f/_/proof.js"></script>
`;

const DONE = new Html(
  '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><circle cx="12" cy="12" r="9.5"/><path d="m7.5 12.5 3 3 6-6.5"/></svg>',
);

export function donePage(definition: FormDefinition, isPreview = false): SharePage {
  const { title, text } = definition.confirmation;
  const body = html`${isPreview && PREVIEW}<div class="card finished" role="status">${DONE}<h1>${title}</h1>
<p class="meta">${isPreview ? 'This would have been received.' : 'Your response was received.'}</p>
${text && html`<div class="prose">${new Html(text)}</div>`}</div>`;
  return { ...look(definition), title, body };
}

const CLOSED = {
  paused: 'It takes no responses at the moment. Come back later, or ask those who gave you the link.',
  closed: 'It takes no more responses.',
  broken: 'It cannot be shown at the moment. Those who made it know; come back later.',
} as const;
export type ClosedState = keyof typeof CLOSED;

export const isClosed = (state: string): state is ClosedState => Object.hasOwn(CLOSED, state);

export function closedPage(definition: FormDefinition, state: ClosedState): SharePage {
  const body = html`<div class="card empty">${icon('inbox')}<h1>${definition.title}</h1><p class="meta">${CLOSED[state]}</p></div>`;
  const { style, frameAncestors } = look(definition);
  return {
    style,
    frameAncestors,
    title: definition.title,
    body,
    narrow: true,
    status: state === 'broken' ? 503 : 410,
  };
}

/** For the origins that may embed it, who read JSON. */
export const closedReason = (state: ClosedState): string => CLOSED[state];
