import { Module } from '@nestjs/common';
import { LandingController } from './landing.controller.js';

/** The address of the installation itself. */
@Module({ controllers: [LandingController] })
export class LandingModule {}
