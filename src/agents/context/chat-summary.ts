import type { StepUsage } from '#libs/model-client/index.js';
import type { MessagePart } from '../chats/index.js';

/** A summary that stands for the messages of a chat up to a place in their order; the messages themselves stay. */
export interface ChatSummary {
  /** The run and the step before which it was made. */
  readonly runId: string;
  readonly step: number;
  /** The last message that it stands for. */
  readonly throughRun: string;
  readonly throughMessage: string;
  /** The summary, and the request under way where that is among what it stands for. */
  readonly content: MessagePart[];
  /** What was changed in the workspace so far. */
  readonly files: string[];
  readonly messageCount: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** The model that wrote it; null: it was put together without one. */
  readonly model: string | null;
  readonly usage: StepUsage | null;
  readonly costUsd: number | null;
  readonly createdAt: Date;
}
