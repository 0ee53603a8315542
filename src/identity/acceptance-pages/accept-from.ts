import { Conflict, problemOf } from '../../platform/errors/index.js';
import { type HtmlPage, sendOn, sendPage } from '../../platform/pages/index.js';
import { problemOfNewcomer } from '../accounts/index.js';
import type { Front, Fronts } from '../page-sessions/index.js';
import type { Tried } from './offer-page.js';

const MAX_CHARACTERS = 257;

/** What a form that accepts leads to. */
interface Acceptance {
  accept(newcomer: { name?: string; password?: string }): Promise<unknown>;
  /** The page with the form, once more. */
  ask(tried: Tried): Promise<HtmlPage>;
  /** The address that is invited, and whether it accepted. */
  stand(): Promise<{ email: string; accepted: boolean }>;
}

/**
 * Accepts what a front offers: with the account that is signed in there, or with one that is made of the form and signed in
 * at once. Sent twice, the second time leads to the same end.
 */
export async function acceptFrom(
  fronts: Fronts,
  front: Front,
  fields: URLSearchParams,
  { accept, ask, stand }: Acceptance,
): Promise<void> {
  const { person, reply, address } = front;
  if (person) {
    await unlessDone(() => accept({}), stand);
    sendOn(reply, address);
    return;
  }
  const name = (fields.get('name') ?? '').slice(0, MAX_CHARACTERS);
  const password = (fields.get('password') ?? '').slice(0, MAX_CHARACTERS);
  const problem = problemOfNewcomer(name, password);
  if (problem) {
    sendPage(reply, await ask({ name, problem }), 422);
    return;
  }
  const { email } = await stand();
  await unlessDone(() => accept({ name, password }), stand);
  await fronts.enter(front, { email, password });
}

/** It was accepted before, perhaps by the same form: the page says how it stands. */
async function unlessDone(work: () => Promise<unknown>, stand: Acceptance['stand']): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(problemOf(error) instanceof Conflict) || !(await stand()).accepted) throw error;
  }
}
