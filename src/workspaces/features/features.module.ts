import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../core/index.js';
import { DuplicateModule } from '../duplicate/index.js';
import { FeaturesService } from './features.service.js';

/** Features of a workspace that can be turned off. */
@Module({
  imports: [CoreModule, DuplicateModule],
  controllers: [RoutesOf(FeaturesService)],
  providers: [FeaturesService],
})
export class FeaturesModule {}
