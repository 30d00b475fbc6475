import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Configuration } from '../configuration/configuration.js';
import { parseDatabaseAddress } from '../configuration/database-url.js';
import { SERVICE_USE, createSourceOptions } from './data-source.js';
import { Database } from './database.js';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [Configuration],
      useFactory: (configuration: Configuration) => ({
        ...createSourceOptions(parseDatabaseAddress(configuration), SERVICE_USE),
        manualInitialization: true, // the service starts even if the database is away: its first poll connects
      }),
    }),
  ],
  providers: [
    {
      provide: Database,
      inject: [Configuration, DataSource],
      useFactory: (configuration: Configuration, source: DataSource) =>
        new Database(source, parseDatabaseAddress(configuration), SERVICE_USE),
    },
  ],
  exports: [Database],
})
export class DatabaseModule {}
