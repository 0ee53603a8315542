import { createHash } from 'node:crypto';
import { escapeHtml } from '#libs/html/index.js';

const IN_UTC = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** A time in words, as HTML: in UTC, until {@link LOCAL_TIMES} has run. */
export const timeHtml = (iso: string): string =>
  `<time datetime="${escapeHtml(iso)}" title="${escapeHtml(iso)}">${IN_UTC.format(new Date(iso))} UTC</time>`;

const SCRIPT = `for(const time of document.querySelectorAll('time'))time.textContent=new Date(time.dateTime).toLocaleString(undefined,{dateStyle:'medium',timeStyle:'short'})`;

/** A script at the end of a page that puts its times in the zone and language of whoever looks. */
export const LOCAL_TIMES = `<script>${SCRIPT}</script>`;

/** What allows that script, and no other, in the policy of a page. */
export const ALLOWS_LOCAL_TIMES = `script-src 'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`;
