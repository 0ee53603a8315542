import type { Signals } from '../../platform/topics/index.js';
import type { ApprovalPolicy } from './approval-policies.js';

/** The topic that is signalled when the policy of a workspace has changed. */
export const policyTopic = (workspaceId: string): string => `approval-policy:${workspaceId}`;

/** The policy of a workspace for somebody who goes by it for a while; read once, and again after each change. */
export class PolicyWatch {
  private reading: Promise<void>;
  private readonly unsubscribe: () => void;

  constructor(
    signals: Signals,
    workspaceId: string,
    private known: ApprovalPolicy,
    private readonly read: (workspaceId: string) => Promise<ApprovalPolicy>,
  ) {
    this.unsubscribe = signals.subscribe(policyTopic(workspaceId), () => {
      this.reading = this.look(workspaceId);
    });
    this.reading = this.look(workspaceId);
  }

  /** As it was last read. */
  get latest(): ApprovalPolicy {
    return this.known;
  }

  /** As it stands after every change that was told of; throws where it cannot be read. */
  async now(): Promise<ApprovalPolicy> {
    for (let awaited: Promise<void> | undefined; awaited !== this.reading; ) {
      awaited = this.reading;
      await awaited;
    }
    return this.known;
  }

  close(): void {
    this.unsubscribe();
  }

  private look(workspaceId: string): Promise<void> {
    const reading = this.read(workspaceId).then(policy => {
      this.known = policy;
    });
    // Whoever asks is told of a failure; where nobody does, it is none.
    reading.catch(() => undefined);
    return reading;
  }
}
