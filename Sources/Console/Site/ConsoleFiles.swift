import CloudKitAccounts
import CloudKitHTTP
import HTTPTypes

/// The style sheet and the script, each under an address that changes with its content, so that browsers keep them.
struct ConsoleFiles: Sendable {
    /// The address of the style sheet.
    let style: Address
    /// The address of the script.
    let script: Address

    init() {
        style = Address("style-\(Self.version(PackageResources.console_css)).css")
        script = Address("script-\(Self.version(PackageResources.console_js)).js")
    }

    /// Returns the file at a path; nil for a path that is no file's.
    ///
    /// - Parameter path: With the path of the Console.
    func response(at path: Substring) -> EndpointResponse? {
        switch path {
        case style.text[...]: file(PackageResources.console_css, "text/css; charset=UTF-8")
        case script.text[...]: file(PackageResources.console_js, "text/javascript; charset=UTF-8")
        default: nil
        }
    }

    private func file(_ bytes: [UInt8], _ contentType: String) -> EndpointResponse {
        var headers = ConsoleHeaders.all
        headers[.cacheControl] = "public, max-age=31536000, immutable"
        return EndpointResponse(contentType: contentType, body: bytes, headers: headers)
    }

    private static func version(_ bytes: [UInt8]) -> String {
        String(APIToken.hash(of: String(decoding: bytes, as: UTF8.self)).prefix(16))
    }
}
