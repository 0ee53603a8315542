export const RUN_EVENT_TYPES = [
  'run.queued',
  'run.started',
  'run.completed',
  'run.failed',
  'step.started',
  'step.restarted',
  'step.finished',
  'step.waiting',
  'model.fallback',
  'context.compacting',
  'context.compacted',
  'response.invalid',
  'text.delta',
  'reasoning.delta',
  'tool.started',
  'tool.output',
  'tool.finished',
  'file.changed',
  'message.accepted',
  'message.injected',
  'message.withdrawn',
  'approval.requested',
  'approval.resolved',
] as const;
export type RunEventType = (typeof RUN_EVENT_TYPES)[number];

/** The event types after which nothing follows. */
export const LAST_EVENTS: readonly RunEventType[] = ['run.completed', 'run.failed'];

declare global {
  interface ColumnTypes {
    'run_event.data': Record<string, unknown>;
  }
}
