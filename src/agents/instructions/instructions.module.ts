import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { InstructionsService } from './instructions.service.js';
import { InstructionsStore } from './instructions.store.js';

/** What organizations tell all of their agents. */
@Module({
  imports: [OrganizationsModule],
  controllers: [RoutesOf(InstructionsService)],
  providers: [InstructionsService, InstructionsStore],
  exports: [InstructionsStore],
})
export class InstructionsModule {}
