// ASP.NET around Verify.cs, in Program.cs:
//
//   app.MapPost("/callback", context => AspNetCallback.Answer(context, secret, credit));
//
// credit books one reward, once per RewardId; what it throws is answered with 500, and the callback
// is sent again. It is not called for tests.
using System;
using System.IO;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;

public static class AspNetCallback
{
    public static async Task Answer(HttpContext context, string secret, Func<byte[], Task> credit)
    {
        using var bytes = new MemoryStream();
        await context.Request.Body.CopyToAsync(bytes);
        var body = bytes.ToArray();
        var headers = context.Request.Headers;
        var why = Verify.Check(
            body, headers["webhook-id"], headers["webhook-timestamp"], headers["webhook-signature"], secret);
        if (why is null && !Verify.IsTest(body))
        {
            await credit(body);
        }
        context.Response.StatusCode = why is null ? 200 : 400;
        await context.Response.WriteAsync(why ?? "ok");
    }
}
