import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import type { ExposedView } from './exposure.dto.js';

export interface ExposureQuery {
  readonly organizationId: string;
  /** Also what is in workspaces that the caller does not see: for those who answer for the organization. */
  readonly all: boolean;
  /** Only what has an id after this one. */
  readonly after?: string;
  readonly limit: number;
}

/** A kind of thing that can be reached from outside. Lists by id, and of what is not `all`, what the caller may end. */
export interface ExposureSource {
  listExposed(actor: Actor, query: ExposureQuery): Promise<ExposedView[]>;
}

/** Everything that makes things reachable from outside makes itself known here while modules start. */
@Injectable()
export class Exposures {
  private readonly sources: ExposureSource[] = [];

  add(source: ExposureSource): void {
    this.sources.push(source);
  }

  async list(actor: Actor, query: ExposureQuery): Promise<ExposedView[]> {
    const lists = await Promise.all(this.sources.map(source => source.listExposed(actor, query)));
    return lists
      .flat()
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, query.limit);
  }
}
