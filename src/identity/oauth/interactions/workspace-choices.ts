import { Injectable } from '@nestjs/common';
import { type Actor } from '../../../platform/access/index.js';

export interface ChoosableWorkspace {
  readonly id: string;
  readonly name: string;
  readonly organization_id: string;
}

type Source = (actor: Actor, limit: number) => Promise<ChoosableWorkspace[]>;

/** The workspaces that a person can let an application into. Who knows them stands above us, and tells us how to ask. */
@Injectable()
export class WorkspaceChoices {
  private source: Source = async () => [];

  /** Called while modules start. */
  askedOf(source: Source): void {
    this.source = source;
  }

  /** Those that the person sees, oldest first. */
  of(actor: Actor, limit: number): Promise<ChoosableWorkspace[]> {
    return this.source(actor, limit);
  }
}
