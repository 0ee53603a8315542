import { Inject, Injectable } from '@nestjs/common';
import { Database, type UnitOfWork } from '../../platform/database/database.js';
import { ModelSettings, type ModelSettingsFields } from './model-settings.js';

interface ModelSettingsRow {
  organization_id: string;
  enabled: string[];
  disabled: string[];
  default_model: string | null;
  new_models: ModelSettingsFields['newModels'];
  updated_at: string;
}
type ModelTables = { organization_models: ModelSettingsRow };

/** Where organizations' decisions about models are kept. */
@Injectable()
export class ModelSettingsStore {
  constructor(@Inject(Database) private readonly database: Database) {}

  async of(organizationId: string): Promise<ModelSettings> {
    const row = await this.database
      .tables<ModelTables>()
      .selectFrom('organization_models')
      .select(['enabled', 'disabled', 'default_model', 'new_models'])
      .where('organization_id', '=', organizationId)
      .executeTakeFirst();
    if (!row) return ModelSettings.FRESH;
    const { enabled, disabled, default_model: defaultModel, new_models: newModels } = row;
    return new ModelSettings({ enabled, disabled, defaultModel, newModels });
  }

  /** Replaces all of it in one statement: of two that come at once, one is what stays. */
  async save(unit: UnitOfWork, organizationId: string, fields: ModelSettingsFields): Promise<void> {
    const values = {
      enabled: [...fields.enabled],
      disabled: [...fields.disabled],
      default_model: fields.defaultModel,
      new_models: fields.newModels,
      updated_at: new Date().toISOString(),
    };
    await unit
      .tables<ModelTables>()
      .insertInto('organization_models')
      .values({ organization_id: organizationId, ...values })
      .onConflict(conflict => conflict.column('organization_id').doUpdateSet(values))
      .execute();
  }
}
