import { Injectable, OnModuleInit } from '@nestjs/common';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Topics } from '../../../platform/topics/index.js';
import {
  type DeploymentRow,
  type TriggerFacts,
  type TriggerRow,
  type TriggerSetup,
  TriggerSetups,
} from '../../automation/index.js';
import { FILE_WINDOWS, FilesStore } from './files.store.js';

/** What a file trigger needs when it is deployed: the place in the log from which on changes count. */
@Injectable()
export class FileSetup implements TriggerSetup, OnModuleInit {
  readonly kind = 'file';

  constructor(
    private readonly setups: TriggerSetups,
    private readonly files: FilesStore,
    private readonly topics: Topics,
  ) {}

  onModuleInit(): void {
    this.setups.add(this);
  }

  /** One that was live before goes on where it was, with what it has gathered. */
  async begin(
    unit: UnitOfWork,
    { workspace_id }: DeploymentRow,
    { id, cursor }: TriggerRow,
  ): Promise<undefined> {
    if (cursor === null) await this.files.begin(unit, workspace_id, id);
    else if (await this.files.goOn(unit, id)) await this.topics.publishWithCommit(unit, FILE_WINDOWS);
  }

  facts(): TriggerFacts {
    return {};
  }
}
