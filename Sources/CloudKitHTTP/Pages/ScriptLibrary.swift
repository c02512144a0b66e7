import CloudKitAccounts
import CloudKitModel
import Crypto
import HTTPTypes
import TextEncodings

/// The scripts that pages of any origin may load (docs/welkin-js.md): each under the path of its version, and under one that names its
/// hash, whose content never changes.
struct ScriptLibrary: Sendable {
    /// A script with its hash.
    struct Script: Sendable {
        var name: String
        var text: [UInt8]
        /// The value of the attribute `integrity`.
        var integrity: String
        /// The path whose content never changes.
        var path: String

        init(_ name: String, _ text: [UInt8]) {
            let digest = Array(SHA256.hash(data: text))
            self.name = name
            self.text = text
            integrity = "sha256-" + Base64.encode(digest)
            path = "\(pathPrefix)\(version)-\(digest.prefix(8).hex)/\(name)"
        }
    }

    let library = Script("welkin.js", PageFiles.welkinScript)
    let encryption = Script("welkin-encryption.js", PageFiles.welkinEncryptionScript)
    let viewer = Script("share-viewer.js", PageFiles.shareViewerScript)
    let account = Script("account.js", PageFiles.accountScript)
    let accountApproval = Script("account-approval.js", PageFiles.accountApprovalScript)
    let accountArchive = Script("account-archive.js", PageFiles.accountArchiveScript)
    let accountDatabases = Script("account-databases.js", PageFiles.accountDatabasesScript)
    let accountDevices = Script("account-devices.js", PageFiles.accountDevicesScript)
    let elements = Script("page-elements.js", PageFiles.pageElementsScript)
    let keyApproval = Script("key-approval.js", PageFiles.keyApprovalScript)
    let passkeys = Script("passkeys.js", PageFiles.passkeysScript)
    let provider = Script("provider.js", PageFiles.providerScript)
    let recoveryWords = Script("recovery-words.js", PageFiles.recoveryWordsScript)

    /// The script of a share's page that shows how to open the link elsewhere; it has a path of its own.
    let link = Script("share.js", PageFiles.shareScript)

    static let shared = ScriptLibrary()
    static let pathPrefix = "/welkin/"
    /// Of the scripts' interface; scripts of one version stay compatible.
    private static let version = "1"

    /// Returns a script, or as `integrity.json` the paths and hashes of all.
    ///
    /// - Throws: `RequestFailure` `endpointNotFound`, also for the hash of another release.
    @Sendable func script(_ request: IncomingRequest) throws -> EndpointResponse {
        let path = Self.pathPrefix + (request.endpoint?.parameter ?? "")
        let scripts = [
            library, encryption, viewer, account, accountApproval, accountArchive, accountDatabases, accountDevices,
            elements, keyApproval, passkeys, provider, recoveryWords,
        ]
        if path == "\(Self.pathPrefix)\(Self.version)/integrity.json" {
            let lines = scripts.map { ($0.name, Line(path: $0.path, integrity: $0.integrity)) }
            var response = try EndpointResponse.json(Dictionary(uniqueKeysWithValues: lines))
            response.headers = Self.headers
            return response
        }
        guard
            let script = scripts.first(where: {
                path == $0.path || path == "\(Self.pathPrefix)\(Self.version)/\($0.name)"
            })
        else { throw RequestFailure.endpointNotFound }
        var headers = Self.headers
        if path == script.path { headers[.cacheControl] = "public, max-age=31536000, immutable" }
        return EndpointResponse(contentType: "text/javascript; charset=UTF-8", body: script.text, headers: headers)
    }

    private struct Line: Encodable {
        var path: String
        var integrity: String
    }

    private static let headers: HTTPFields = [
        .accessControlAllowOrigin: "*", .xContentTypeOptions: "nosniff",
        HeaderName.crossOriginResourcePolicy: "cross-origin", .cacheControl: "no-cache",
    ]
}
