import { Module } from '@nestjs/common';
import { EntranceController } from './entrance.controller.js';

/** The entrance at `/`. DocumentationModule has the entrance at BASE_PATH. */
@Module({ controllers: [EntranceController] })
export class EntranceModule {}
