import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../changes/index.js';
import { CoreModule } from '../core/index.js';
import { OperationsModule } from '../operations/index.js';
import { BuiltinTemplates } from './builtin/builtin-templates.js';
import { CloneService } from './cloning/clone.service.js';
import { TemplateCloning } from './cloning/template-cloning.js';
import { PublishService } from './publishing/publish.service.js';
import { TemplatePublication } from './publishing/template-publication.js';
import { TemplateFolders } from './records/template-folders.js';
import { TEMPLATES } from './records/template-operations.js';
import { TemplatesStore } from './records/templates.store.js';
import { TemplateOriginsService } from './template-origins.service.js';
import { TemplatesProcessor } from './templates.processor.js';
import { TemplatesService } from './templates.service.js';

/** Templates: workspaces are published as versions, and made of them. */
@Module({
  imports: [
    BullModule.registerQueue({ name: TEMPLATES }),
    OrganizationsModule,
    CoreModule,
    ChangesModule,
    OperationsModule,
  ],
  controllers: [
    RoutesOf(TemplatesService),
    RoutesOf(PublishService),
    RoutesOf(CloneService),
    RoutesOf(TemplateOriginsService),
  ],
  providers: [
    TemplatesService,
    PublishService,
    CloneService,
    TemplateOriginsService,
    BuiltinTemplates,
    TemplatesStore,
    TemplateFolders,
    TemplatePublication,
    TemplateCloning,
    TemplatesProcessor,
  ],
})
export class TemplatesModule {}
