import { Module } from '@nestjs/common';
import { CoreModule } from '../core/index.js';
import { DuplicateModule } from '../duplicate/index.js';
import { FeaturesController } from './features.controller.js';
import { FeaturesService } from './features.service.js';

/** Features of a workspace that can be turned off. */
@Module({
  imports: [CoreModule, DuplicateModule],
  controllers: [FeaturesController],
  providers: [FeaturesService],
})
export class FeaturesModule {}
