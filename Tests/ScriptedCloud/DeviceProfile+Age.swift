import CloudKitDevice
import Foundation

extension DeviceProfile {
    /// Makes the files of the profile a minute old, as they are for a process that begins long after the one that wrote them.
    ///
    /// What another process wrote less than a tick of the file system's clock before a request may be younger than the request, whose
    /// answer is then not compared with it.
    package func age() throws {
        let earlier = Date(timeIntervalSinceNow: -60)
        for file in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            try FileManager.default.setAttributes([.modificationDate: earlier], ofItemAtPath: "\(folder)/\(file)")
        }
    }
}
