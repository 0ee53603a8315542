import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { AuthModule } from '../../identity/auth/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { ExposureModule } from '../exposure/index.js';
import { FormFiles } from './file/form-files.js';
import { CurrentForms } from './links/current-forms.js';
import { FormChecksService } from './links/form-checks.service.js';
import { FormViews } from './links/form-views.js';
import { FormsService } from './links/forms.service.js';
import { Previews } from './links/previews.js';
import { FormAssetsController } from './pages/form-assets.controller.js';
import { FormPagesController } from './pages/form-pages.controller.js';
import { FormPreviewsController } from './pages/form-previews.controller.js';
import { Admission } from './receiving/admission.js';
import { FormVisits } from './receiving/form-visits.js';
import { ProofOfWork } from './receiving/proof-of-work.js';
import { Receiving } from './receiving/receiving.js';
import { StagedFiles } from './receiving/staged-files.js';
import { Tickets } from './receiving/tickets.js';
import { FormsStore } from './records/forms.store.js';
import { SubmissionsStore } from './records/submissions.store.js';
import { WaitingStore } from './records/waiting.store.js';
import { ExportsController } from './responses/exports.controller.js';
import { ExportsService } from './responses/exports.service.js';
import { FormsProcessor } from './responses/forms.processor.js';
import { ResponseBatch } from './responses/response-batch.js';
import { ResponseFile } from './responses/response-file.js';
import { FORMS, ResponseScheduler } from './responses/response-scheduler.js';
import { ResponseWriter } from './responses/response-writer.js';
import { FormRetention } from './responses/retention.js';
import { SubmissionsService } from './responses/submissions.service.js';

/** Forms: pages that people without an account fill in, and the files that their responses are written to. */
@Module({
  imports: [BullModule.registerQueue({ name: FORMS }), AuthModule, CoreModule, ChangesModule, ExposureModule],
  controllers: [
    RoutesOf(FormsService),
    RoutesOf(FormChecksService),
    RoutesOf(SubmissionsService),
    ExportsController,

    FormAssetsController,
    FormPreviewsController,
    FormPagesController,
  ],
  providers: [
    FormsService,
    FormChecksService,
    FormsStore,
    FormFiles,
    FormsProcessor,
    CurrentForms,
    FormViews,
    Previews,
    SubmissionsStore,
    Admission,
    FormVisits,
    ProofOfWork,
    Receiving,
    StagedFiles,
    Tickets,
    WaitingStore,
    ResponseBatch,
    ResponseFile,
    ResponseScheduler,
    ResponseWriter,
    ExportsService,
    FormRetention,
    SubmissionsService,
  ],
})
export class FormsModule {}
