import { randomUUID } from 'node:crypto';
import type { Answer, QuestionStore, WakeUp } from './ports.js';

/** A request of ours that a client was sent, and which it answers with a request of its own, to whichever process. */
export interface Question {
  readonly id: string;
  /** Its answer; undefined when `signal` was aborted before. */
  answered(signal: AbortSignal): Promise<Answer | undefined>;
}

/** Stores that the client of a session is asked something, under a unique id. */
export async function askClient(store: QuestionStore, sessionId: string): Promise<Question> {
  const id = randomUUID();
  const wakeUp = store.wakeUp(id);
  try {
    await store.ask(id, sessionId);
  } catch (error) {
    wakeUp.close();
    throw error;
  }
  return { id, answered: signal => awaitAnswer(store, id, wakeUp, signal) };
}

async function awaitAnswer(
  store: QuestionStore,
  id: string,
  wakeUp: WakeUp,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  try {
    for (;;) {
      const answer = await store.answerTo(id);
      if (answer) return answer;
      if (answer === undefined || signal.aborted) return undefined;
      await wakeUp.wait(signal);
    }
  } finally {
    wakeUp.close();
    await store.forget(id);
  }
}
