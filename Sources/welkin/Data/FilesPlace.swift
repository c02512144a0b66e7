import CloudKitDevice
import FileStore
import FileStoreRows
import FileStoreS3
import Foundation
import HTTPTransfer
import OrderedStore

/// The place of the files of a cloud whose store is in a database.
enum FilesPlace: Hashable {
    /// A folder, which nodes share.
    case folder(String)
    /// The database of the store.
    case database
    /// A bucket of an object store.
    case objects(S3Place)

    /// Reads `s3://bucket/prefix`, `database`, or the path of a folder.
    init(_ text: String) throws {
        do {
            if S3Place.isPlace(text) {
                self = .objects(try S3Place(text))
            } else if text == Self.databaseWord {
                self = .database
            } else {
                self = .folder(URL(fileURLWithPath: text).path)
            }
        } catch {
            throw CommandFailure(error.detail)
        }
    }

    private static let databaseWord = "database"

    /// The place as all nodes know it: the path of a folder may differ from node to node.
    var note: String {
        switch self {
        case .folder: "folder"
        case .database: Self.databaseWord
        case .objects(let place): String(describing: place)
        }
    }

    /// The place as an option names it.
    var argument: String {
        switch self {
        case .folder(let path): path
        case .database, .objects: note
        }
    }

    /// Opens the files at the place.
    ///
    /// - Parameters:
    ///   - store: The store of the cloud.
    ///   - settings: The settings of the object store.
    ///   - now: Milliseconds since 1970.
    /// - Throws: `CommandFailure` if the object store cannot be used; `FileStoreError` of a folder.
    func open(
        in store: any OrderedStore, settings: ObjectStoreSettings, now: @escaping @Sendable () -> Int64
    ) async throws -> any FileStore {
        switch self {
        case .folder(let path): return try FolderFileStore(path, now: now)
        case .database: return RowFileStore(store, now: now)
        case .objects(let place):
            let client = HTTPClient(
                authoritiesFile: HTTPClient.namedAuthoritiesFile, requestsPerOriginMax: Self.requestsMax)
            do {
                let files = S3FileStore(
                    place, settings: try settings.checked(),
                    connection: S3FileStore.Connection(now: now) { try await client.send($0) })
                try await files.check()
                return files
            } catch let error as FileStoreError {
                throw CommandFailure("the files in \(place) cannot be used: \(error)")
            }
        }
    }

    /// Requests to the object store at a time.
    private static let requestsMax = 64
}

/// The settings of an object store: lines `name = value` of a file, and the variables of the environment that its tools read.
struct ObjectStoreSettings {
    /// The place that the file names; nil: none.
    private(set) var place: String?
    private var endpoint: String?
    private var publicEndpoint: String?
    private var region: String?
    private var accessKey: String?
    private var secretKey: String?

    /// Reads settings.
    ///
    /// - Parameters:
    ///   - file: The path of a file that only its owner can read; nil: none.
    ///   - environment: The variables of the environment, for what the file does not name.
    init(file: String?, environment: [String: String]) throws {
        if let file {
            guard let bytes = try PrivateFile.read(file) else { throw CommandFailure("there is no file \(file)") }
            try read(String(decoding: bytes, as: UTF8.self), of: file)
        }
        func variable(_ names: String...) -> String? {
            names.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        endpoint = endpoint ?? variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
        publicEndpoint = publicEndpoint ?? variable("WELKIN_ASSETS_PUBLIC_ENDPOINT")
        region = region ?? variable("AWS_REGION", "AWS_DEFAULT_REGION")
        accessKey = accessKey ?? variable("AWS_ACCESS_KEY_ID")
        secretKey = secretKey ?? variable("AWS_SECRET_ACCESS_KEY")
    }

    private mutating func read(_ text: String, of file: String) throws {
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            // The line itself may be a key.
            guard parts.count == 2, !parts[1].isEmpty else {
                throw CommandFailure("\(file), line \(number + 1): write name = value")
            }
            switch parts[0] {
            case "place": place = parts[1]
            case "endpoint": endpoint = parts[1]
            case "public_endpoint": publicEndpoint = parts[1]
            case "region": region = parts[1]
            case "access_key": accessKey = parts[1]
            case "secret_key": secretKey = parts[1]
            default:
                throw CommandFailure(
                    "\(file), line \(number + 1): an unknown name; there are place, endpoint, public_endpoint, region, access_key and secret_key"
                )
            }
        }
    }

    /// Returns the settings in the form that requests need.
    ///
    /// - Throws: `FileStoreError` with the setting that is missing or cannot be used.
    func checked() throws -> S3Settings {
        try S3Settings(
            endpoint: endpoint, publicEndpoint: publicEndpoint, region: region, accessKey: accessKey,
            secretKey: secretKey)
    }
}
