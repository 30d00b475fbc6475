import { Module } from '@nestjs/common';
import { CodesReader } from './codes.reader.js';
import { CodesService } from './codes.service.js';

@Module({ providers: [CodesReader, CodesService], exports: [CodesService] })
export class CodesModule {}
