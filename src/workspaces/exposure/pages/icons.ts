import { Html } from '../../../platform/pages/index.js';

const DOC = '<path d="M6 3h8l5 5v12a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1z"/><path d="M14 3v5h5"/>';
const SHAPES = {
  folder:
    '<path d="M3 6.5A1.5 1.5 0 0 1 4.5 5h4.7l2 2.3h8.3A1.5 1.5 0 0 1 21 8.8v9.2a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 18z"/>',
  file: DOC,
  text: `${DOC}<path d="M8.5 12.5h7M8.5 16h5"/>`,
  table:
    '<rect x="3.5" y="4.5" width="17" height="15" rx="1.5"/><path d="M3.5 9.5h17M3.5 14.5h17M9.5 4.5v15"/>',
  image:
    '<rect x="3.5" y="4.5" width="17" height="15" rx="1.5"/><circle cx="9" cy="10" r="1.6"/><path d="m4 18 5-4.5 3.5 3 3-3 5 4.5"/>',
  pdf: `${DOC}<path d="M8.5 17v-4.5h1.6a1.4 1.4 0 0 1 0 2.8H8.5M13.5 12.5v4.5M13.5 12.5h2.3M13.5 14.7h1.8"/>`,
  audio: '<path d="M9 18V6l10-2v12"/><circle cx="6.5" cy="18" r="2.5"/><circle cx="16.5" cy="16" r="2.5"/>',
  video: '<rect x="3.5" y="5" width="17" height="14" rx="1.5"/><path d="m10.5 9.5 4.5 2.5-4.5 2.5z"/>',
  lock: '<rect x="5" y="11" width="14" height="9.5" rx="2"/><path d="M8 11V8a4 4 0 0 1 8 0v3"/>',
  inbox:
    '<path d="M12 4v10m0 0 4-4m-4 4-4-4"/><path d="M4 15v3.5A1.5 1.5 0 0 0 5.5 20h13a1.5 1.5 0 0 0 1.5-1.5V15"/>',
} as const;

export type IconName = keyof typeof SHAPES;

export const icon = (name: IconName): Html =>
  new Html(
    `<svg class="icon ${name}" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${SHAPES[name]}</svg>`,
  );

export const SAVE_ICON = new Html(
  '<svg width="18" height="18" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M12 4v11m0 0 4.5-4.5M12 15l-4.5-4.5M5 20h14"/></svg>',
);
