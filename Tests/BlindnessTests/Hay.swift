import CloudUnderTest
import Foundation

/// Everything of a cloud that somebody else could get hold of.
struct Hay {
    /// Where it was found, and what.
    private(set) var places: [(String, [UInt8])] = []

    var bytes: Int { places.reduce(0) { $0 + $1.1.count } }

    /// - Parameter cloud: Stopped.
    init(cloud: CloudProcess, tap: TrafficTap) throws {
        places.append(("the wire", tap.bytes))
        let files = FileManager.default.enumerator(atPath: cloud.data)
        while let name = files?.nextObject() as? String {
            var isFolder: ObjCBool = false
            let path = cloud.data + "/" + name
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
                continue
            }
            places.append(("the store's \(name)", Array(FileManager.default.contents(atPath: path) ?? Data())))
        }
        places.append(("the log", Array(FileManager.default.contents(atPath: cloud.log) ?? Data())))
    }
}
