import { type Html, html } from '../../../platform/pages/index.js';

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** A size as people say it, in powers of ten: `1.4 MB`. */
export function sizeInWords(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export const timeInWords = (iso: string): Html =>
  html`<time datetime="${iso}" title="${iso}">${DAY.format(new Date(iso))}</time>`;

export const countInWords = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
