import { Injectable } from '@nestjs/common';
import type { HostingFactsView } from './health.dto.js';

/** Where sites and servers are. A port: who knows registers. */
@Injectable()
export class HostingFacts {
  private facts: HostingFactsView = { domain: null, isolation: 'none' };

  /** Called while modules start. */
  set(facts: HostingFactsView): void {
    this.facts = facts;
  }

  read(): HostingFactsView {
    return this.facts;
  }
}
