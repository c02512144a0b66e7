import CloudKitHTTP
import HTTPTypes

/// The headers of everything that the Console sends: nothing from elsewhere, nothing inline, no frames, nothing kept.
enum ConsoleHeaders {
    static let all: HTTPFields = [
        .contentSecurityPolicy:
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
            + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        .xContentTypeOptions: "nosniff",
        HeaderName.frameOptions: "DENY",
        // Not no-referrer: browsers would then send forms with the origin "null".
        HeaderName.referrerPolicy: "same-origin",
        .cacheControl: "no-store",
    ]
}
