import type { Actor } from '../../platform/access/index.js';
import { type Author, authorEnvironment } from './git/git-environment.js';

/** Name that git accepts: no line breaks, no brackets. */
const plain = (text: string): string => text.replace(/[<>\p{Cc}]/gu, ' ').trim();

/** Author: the person, even if a run commits for them. */
function toAuthor({ id, name, email }: Actor, host: string): Author {
  return { name: plain(name) || 'Somebody', email: plain(email ?? '') || `${id}@noreply.${host}` };
}

export const identityEnvironment = (actor: Actor, host: string): Record<string, string> =>
  authorEnvironment(toAuthor(actor, host));

/** Message with trailers that name the run. */
export function signed(message: string, { credential }: Actor, host: string): string {
  const run = credential.run?.id;
  const automation = credential.automation_run_id;
  const trailers = [
    ...(run ? [`Atelier-Run: ${run}`] : []),
    ...(automation ? [`Atelier-Automation-Run: ${automation}`] : []),
    ...(run || automation ? [`Co-authored-by: Atelier <agent@noreply.${host}>`] : []),
  ];
  return [message.trimEnd(), ...(trailers.length > 0 ? ['', ...trailers] : []), ''].join('\n');
}
