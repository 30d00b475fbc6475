import { promisify } from 'node:util';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import express, { type Request, type Response } from 'express';
import type { Observable } from 'rxjs';

/** Parses the JSON body of a request. Nest runs interceptors after the guard, and before `@Body()` is read. */
@Injectable()
export class JsonBodyInterceptor implements NestInterceptor {
  private readonly parse = promisify(express.json({ limit: '16kb' }));

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    await this.parse(http.getRequest<Request>(), http.getResponse<Response>());
    return next.handle();
  }
}
