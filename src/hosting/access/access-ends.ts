import { Injectable, OnModuleInit } from '@nestjs/common';
import { ExecTokens } from '../../platform/actions/index.js';
import { Events } from '../../platform/events/index.js';
import { targetReleased } from '../hosts/index.js';
import { AccessPolicies } from './policies/access-policies.js';
import { AccessPolicyStore } from './policies/access-policy.store.js';

@Injectable()
export class AccessEnds implements OnModuleInit {
  constructor(
    private readonly events: Events,
    private readonly store: AccessPolicyStore,
    private readonly policies: AccessPolicies,
    private readonly execTokens: ExecTokens,
  ) {}

  onModuleInit(): void {
    this.events.on(targetReleased, async (unit, { kind, id }) => {
      await this.store.remove(unit, kind, id);
      await this.execTokens.revokeFor(unit, { kind, id });
      await this.policies.changed(unit, id);
    });
  }
}
