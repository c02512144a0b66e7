import CloudBackup
import CloudBackupS3
import FileStore
import FileStoreS3
import Foundation
import HTTPTransfer

/// The place of a backup as commands name it.
enum BackupLocation {
    /// The path of a folder.
    case folder(String)
    case bucket(S3Place, S3Settings)

    /// The help of the option for the settings of the object store.
    static let bucketFileHelp =
        "A file with the settings of the object store: lines of endpoint, region, access_key and secret_key, each with = and a value. Without it the variables AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY count."

    /// Reads `s3://bucket/prefix`, or the path of a folder.
    ///
    /// - Parameter bucketFile: The file with the settings of the object store; nil: those of the environment.
    init(
        _ text: String, bucketFile: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        guard S3Place.isPlace(text) else {
            // A scheme that is not known must not become the name of a folder.
            guard !text.contains("://") else {
                throw CommandFailure("the place of a backup is a folder or s3://bucket/prefix")
            }
            guard bucketFile == nil else {
                throw CommandFailure("settings of an object store go with a backup at s3://bucket/prefix")
            }
            self = .folder(URL(fileURLWithPath: text).path)
            return
        }
        do {
            let settings = try ObjectStoreSettings(file: bucketFile, environment: environment).checked()
            self = .bucket(try S3Place(text), settings)
        } catch let error as FileStoreError {
            throw CommandFailure("the backup at \(text.onOneLine) cannot be used: \(error.detail)")
        }
    }

    /// Returns the place.
    func place() -> any BackupPlace {
        switch self {
        case .folder(let path): return FolderPlace(path)
        case .bucket(let place, let settings):
            let client = HTTPClient(
                authoritiesFile: HTTPClient.namedAuthoritiesFile, requestsPerOriginMax: BucketPlace.requestsMax)
            let connection = S3FileStore.Connection(
                now: { Int64(Date().timeIntervalSince1970 * 1000) }, send: { try await client.send($0) })
            return BucketPlace(place, settings: settings, connection: connection)
        }
    }
}
