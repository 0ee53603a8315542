export const OPERATION_STATES = ['queued', 'running', 'completed', 'error', 'cancelled'] as const;
export type OperationState = (typeof OPERATION_STATES)[number];

/** How far an operation is, in the terms that everyone reads; a kind leaves out what it does not count. */
export interface Progress {
  readonly done?: number;
  /** Null before they are counted. */
  readonly total?: number | null;
  readonly bytes_done?: number;
  readonly bytes_total?: number | null;
  /** What is left out. */
  readonly skipped?: readonly string[];
}

/** What an operation made. */
export interface Result {
  readonly workspace_id: string;
}

/** A kind of long work, as a value: what it is called, and what it is given. */
export interface OperationKind<Input extends object> {
  readonly kind: string;
  /** What its caller reads when it failed for no reason of theirs. */
  readonly failed: string;
  /** Only here for the type of the input. */
  readonly input?: Input;
}

export const defineOperation = <Input extends object>(
  kind: string,
  failed: string,
): OperationKind<Input> => ({ kind, failed });

export interface Operation<Input extends object = object> {
  readonly id: string;
  readonly kind: string;
  readonly state: OperationState;
  readonly actor_id: string;
  readonly organization_id: string;
  /** The workspace that it works on. Who sees that sees the operation. */
  readonly subject_id: string;
  readonly input: Input;
  readonly progress: Progress;
  readonly result: Result | null;
  readonly error: string | null;
  readonly cancel_requested: boolean;
  /** From 1, rising with each change: the number of its event. */
  readonly version: number;
}

export const isOver = ({ state }: Pick<Operation, 'state'>): boolean =>
  state !== 'queued' && state !== 'running';
