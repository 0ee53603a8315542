import { Module } from '@nestjs/common';
import { ProjectBuilds } from './project-builds.js';

/** Builds projects with npm, in sandboxes. Knows nothing of sites. */
@Module({ providers: [ProjectBuilds], exports: [ProjectBuilds] })
export class BuildsModule {}
