// The "hello world" of Nest's manual on Express, with the body of the order update. Each ratio of the benchmark is the
// cost of a request to a server, divided by the cost of a request to this server.
import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PATHS } from '../../support/paths.js';

const FILE = 'test/fixtures/order-update.supported-values.json';
const supportedValues = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, string[]>;

@Injectable()
class AppService {
  getHello(): Record<string, string[]> {
    return supportedValues;
  }
}

@Controller()
class AppController {
  constructor(private readonly appService: AppService) {}

  @Get(PATHS.orderUpdate)
  getHello(): Record<string, string[]> {
    return this.appService.getHello();
  }
}

@Module({ controllers: [AppController], providers: [AppService] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: false });
await app.listen(0, '127.0.0.1');
console.log(JSON.stringify({ msg: 'listening', url: await app.getUrl() }));
